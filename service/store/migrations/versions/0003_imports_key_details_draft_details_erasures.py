"""Add imports, names and expiry of keys, what a draft's answer said, and erasures still owed."""

import sqlalchemy as sa
from alembic import op

from service.store.tables import RowId

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None

# never in batch mode: it rebuilds a table on SQLite, and dropping the old one cascades into the tables that refer to it
ADDED = {
    'documents': {'import_id': sa.String(length=60), 'changed_at': sa.Float()},
    'keys': {'name': sa.String(length=200), 'last_used_at': sa.Float(), 'expires_at': sa.Float()},
    'drafts': {'revision': sa.JSON(), 'questions': sa.JSON(), 'usage': sa.JSON()},
}


def upgrade() -> None:
    op.create_table(
        'imports',
        sa.Column('id', sa.String(length=60), nullable=False),
        sa.Column('user_id', RowId, nullable=False),
        sa.Column('importer', sa.String(length=40), nullable=False),
        sa.Column('source', sa.Text(), nullable=False),
        sa.Column('counts', sa.JSON(), nullable=False),
        sa.Column('created_at', sa.Float(), nullable=False),
        sa.Column('undone_at', sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(['user_id'], ['users.id'], name=op.f('fk_imports_user_id_users'), ondelete='CASCADE'),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_imports')),
    )
    op.create_index(op.f('ix_imports_user_id'), 'imports', ['user_id'])
    op.create_table(
        'erasures',
        sa.Column('id', RowId, nullable=False),
        sa.Column('requested_at', sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_erasures')),
    )
    for table, columns in ADDED.items():
        for name, kind in columns.items():
            op.add_column(table, sa.Column(name, kind, nullable=True))
    op.create_index(op.f('ix_documents_import_id'), 'documents', ['import_id'])


def downgrade() -> None:
    op.drop_index(op.f('ix_documents_import_id'), table_name='documents')
    for table, columns in ADDED.items():
        for name in columns:
            op.drop_column(table, name)
    op.drop_table('erasures')
    op.drop_index(op.f('ix_imports_user_id'), table_name='imports')
    op.drop_table('imports')
