"""Reading commit messages: which parts did the author write, and which messages did a program write?"""
