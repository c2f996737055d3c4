"""Keep with each voice the import that made it, so that undoing the import removes it"""

import sqlalchemy as sa
from alembic import op

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('voices', sa.Column('import_id', sa.String(60), nullable=True))


def downgrade() -> None:
    op.drop_column('voices', 'import_id')
