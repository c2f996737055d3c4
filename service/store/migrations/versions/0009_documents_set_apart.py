"""Keep with each document whether it is set apart and what its owner says of that"""

import sqlalchemy as sa
from alembic import op

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None

SENT = 'SELECT feedback.%s FROM feedback WHERE feedback.document_seq = documents.seq'
IS_SENT = 'EXISTS (SELECT 1 FROM feedback WHERE feedback.document_seq = documents.seq AND %s)'


def upgrade() -> None:
    # never in batch mode: it rebuilds a table on SQLite, and dropping the old one cascades into those that refer to it
    op.add_column('documents', sa.Column('set_apart', sa.String(40), nullable=True))
    op.add_column('documents', sa.Column('mine', sa.Boolean(), nullable=True))
    apart = sa.text('set_apart IS NOT NULL')
    op.create_index(
        'ix_documents_user_id_set_apart',
        'documents',
        ['user_id', 'set_apart'],
        postgresql_where=apart,
        sqlite_where=apart,
    )
    op.execute(f"UPDATE documents SET mine = ({SENT % 'mine'})")
    for reason, condition in (
        ('not_mine', 'NOT feedback.mine'),
        ('mostly_draft', 'feedback.machine_share > 0.5'),
        ('accepted_unchanged', "feedback.outcome = 'accepted'"),
    ):
        op.execute(f"UPDATE documents SET set_apart = '{reason}' WHERE {IS_SENT % condition}")
    op.drop_column('feedback', 'mine')


def downgrade() -> None:
    op.add_column('feedback', sa.Column('mine', sa.Boolean(), nullable=True))
    op.execute(
        'UPDATE feedback SET mine = (SELECT documents.mine FROM documents WHERE documents.seq = feedback.document_seq)'
    )
    op.drop_index('ix_documents_user_id_set_apart', 'documents')
    for name in ('set_apart', 'mine'):
        op.drop_column('documents', name)
