"""The tables of the oldest revision that this version can upgrade; an empty database gets the newest tables at once."""

revision = '0010'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
