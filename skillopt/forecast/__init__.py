"""What a run will cost, before it starts: calls, tokens, money."""
