"""What is known of a function before code is made."""
