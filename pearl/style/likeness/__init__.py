"""The probability that a person wrote a text, from n-gram models of that person's texts and of other people's."""
