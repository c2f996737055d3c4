"""Add the recipient and the thread of documents and drafts"""

import sqlalchemy as sa
from alembic import op

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None

# never in batch mode: it rebuilds a table on SQLite, and dropping the old one cascades into the tables that refer to it
TABLES, ADDED = ('documents', 'drafts'), ('recipient', 'thread')


def upgrade() -> None:
    for table in TABLES:
        for name in ADDED:
            op.add_column(table, sa.Column(name, sa.String(200), nullable=True))


def downgrade() -> None:
    for table in TABLES:
        for name in ADDED:
            op.drop_column(table, name)
