"""Add calibrations: theta, margin and k by user, voice, retriever and chat model"""

import sqlalchemy as sa
from alembic import op

from service.store.tables import RowId

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = 'user_id', 'voice', 'retriever', 'model'
    op.create_table(
        'calibrations',
        sa.Column('id', sa.String(length=60), nullable=False),
        sa.Column('user_id', RowId, nullable=False),
        sa.Column('voice', sa.String(length=200), nullable=False),
        sa.Column('retriever', sa.Text(), nullable=False),
        sa.Column('model', sa.String(length=200), nullable=False),
        sa.Column('settings', sa.JSON(), nullable=False),
        sa.Column('figures', sa.JSON(), nullable=False),
        sa.Column('created_at', sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ['user_id'], ['users.id'], name=op.f('fk_calibrations_user_id_users'), ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_calibrations')),
        sa.UniqueConstraint(*columns, name=op.f('uq_calibrations_user_id_voice_retriever_model')),
    )


def downgrade() -> None:
    op.drop_table('calibrations')
