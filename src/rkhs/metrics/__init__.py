"""What can be measured on codes, reconstructions and rankings, and what theory promises about them."""
