"""P(this person wrote it), from n-gram models of the person's texts and of other people's."""
