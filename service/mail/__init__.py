"""A mail account over IMAP: sent mail becomes history, drafts of answers lie in its Drafts folder. Nothing is sent."""
