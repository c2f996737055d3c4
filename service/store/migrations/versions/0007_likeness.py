"""Add a draft's likeness to its owner"""

import sqlalchemy as sa
from alembic import op

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None

# never in batch mode: it rebuilds a table on SQLite, and dropping the old one cascades into the tables that refer to it


def upgrade() -> None:
    op.add_column('drafts', sa.Column('likeness', sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column('drafts', 'likeness')
