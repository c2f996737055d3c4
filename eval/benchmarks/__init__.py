"""Items for the personalised judge, built from the data that others publish (papers/personalized-judge.txt, A.2)."""
