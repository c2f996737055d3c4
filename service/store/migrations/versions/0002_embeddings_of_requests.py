"""Keys for the embeddings of requests, so that these are kept"""

import sqlalchemy as sa
from alembic import op

from service.store.ids import digest

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None

AT_ONCE = 1_000


def upgrade() -> None:
    op.add_column('documents', sa.Column('request_digest', sa.LargeBinary(length=16), nullable=True))
    documents = sa.table(
        'documents', sa.column('seq'), sa.column('request', sa.Text), sa.column('request_digest', sa.LargeBinary)
    )
    of_row = sa.update(documents).where(documents.c.seq == sa.bindparam('row'))
    some = sa.select(documents.c.seq, documents.c.request).where(documents.c.request != '')
    last = 0
    while rows := op.get_bind().execute(some.where(documents.c.seq > last).order_by('seq').limit(AT_ONCE)).all():
        values = [{'row': row.seq, 'request_digest': digest(row.request)} for row in rows]
        op.get_bind().execute(of_row, values)
        last = rows[-1].seq


def downgrade() -> None:
    with op.batch_alter_table('documents', schema=None) as batch_op:
        batch_op.drop_column('request_digest')
