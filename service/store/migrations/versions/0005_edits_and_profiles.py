"""Add what feedback changed of a draft, and profiles: what people say of the habits found in their texts"""

import sqlalchemy as sa
from alembic import op

from pearl.manner.edits import edit_between
from service.store.tables import RowId

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'profiles',
        sa.Column('user_id', RowId, nullable=False),
        sa.Column('voice', sa.String(length=200), nullable=False),
        sa.Column('standing', sa.Boolean(), nullable=False),
        sa.Column('instructions', sa.Text(), nullable=False),
        sa.Column('lines', sa.JSON(), nullable=False),
        sa.Column('changed_at', sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(['user_id'], ['users.id'], name=op.f('fk_profiles_user_id_users'), ondelete='CASCADE'),
        sa.PrimaryKeyConstraint('user_id', 'voice', name=op.f('pk_profiles')),
    )
    # not in batch mode, which rebuilds a table on SQLite and cascades
    op.add_column('feedback', sa.Column('edit', sa.JSON(), nullable=True))
    op.add_column('feedback', sa.Column('machine_share', sa.Float(), nullable=True))
    op.add_column('feedback', sa.Column('mine', sa.Boolean(), nullable=True))
    _measure_what_is_there()


def _measure_what_is_there() -> None:
    """Drafts accepted before this migration must not stay samples of their own style."""
    connection = op.get_bind()
    feedback = sa.table('feedback', *map(sa.column, ('id', 'draft_id', 'document_seq', 'machine_share')), sa.column('edit', sa.JSON()))
    drafts = sa.table('drafts', sa.column('id'), sa.column('text'))
    documents = sa.table('documents', sa.column('seq'), sa.column('text'))
    sent = (
        sa.select(feedback.c.id, drafts.c.text, documents.c.text.label('sent'))
        .join(drafts, drafts.c.id == feedback.c.draft_id)
        .join(documents, documents.c.seq == feedback.c.document_seq)
    )
    for row in connection.execute(sent).all():
        edit = edit_between(row.text, row.sent)
        values = {'edit': edit.to_json(), 'machine_share': edit.machine_share}
        connection.execute(sa.update(feedback).where(feedback.c.id == row.id).values(**values))


def downgrade() -> None:
    for name in ('edit', 'machine_share', 'mine'):
        op.drop_column('feedback', name)
    op.drop_table('profiles')
