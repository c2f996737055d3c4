"""Reading mails: whose they are, what of them was written by hand, what they answer."""
