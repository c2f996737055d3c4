"""Reading mails: who sent them, which parts the sender wrote by hand, and which mail they answer."""
