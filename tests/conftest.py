"""What holds for all tests."""

import signal

# A process that runs tests for another ignores Ctrl-C, and so would the commands that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
