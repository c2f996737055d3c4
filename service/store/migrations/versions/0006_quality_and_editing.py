"""Add a draft's quality, and the choice among edits of it"""

import sqlalchemy as sa
from alembic import op

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None

# never in batch mode: it rebuilds a table on SQLite, and dropping the old one cascades into the tables that refer to it
ADDED = {'quality': sa.Float(), 'editing': sa.JSON()}


def upgrade() -> None:
    for name, kind in ADDED.items():
        op.add_column('drafts', sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    for name in ADDED:
        op.drop_column('drafts', name)
