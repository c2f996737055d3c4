"""Give keys a budget of tokens, and keep with each voice whether its texts stay on this machine"""

import sqlalchemy as sa
from alembic import op

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None

# never in batch mode: it rebuilds a table on SQLite, and dropping the old one cascades into those that refer to it
OF_KEYS = {'tokens_per_day': sa.BigInteger(), 'spent_on': sa.Integer(), 'tokens_spent': sa.BigInteger()}


def upgrade() -> None:
    for name, kind in OF_KEYS.items():
        op.add_column('keys', sa.Column(name, kind, nullable=True))
    op.add_column('voices', sa.Column('local_only', sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column('voices', 'local_only')
    for name in OF_KEYS:
        op.drop_column('keys', name)
