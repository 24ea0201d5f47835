"""SystemTap itself as the oracle: its passes 1 to 5 beside ours, on the same kernels."""
