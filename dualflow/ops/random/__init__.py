"""Random numbers: generators and their keys, samples of distributions."""
