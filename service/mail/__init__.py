"""Watching a mail account over IMAP: sent mail becomes history, drafts of answers go into Drafts. Nothing is sent."""
