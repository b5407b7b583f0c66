"""Explanation of one occurrence from its rows: state, chain, lane, rate and retries."""
