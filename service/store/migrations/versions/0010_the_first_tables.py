"""The tables of the first version that is read; an empty database gets the newest ones at once."""

revision = '0010'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
