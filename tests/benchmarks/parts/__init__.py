"""What single benchmarks are made of beside their own module."""
