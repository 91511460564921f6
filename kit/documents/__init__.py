"""Documents from untrusted addresses, read in a child process with limits on time and memory."""
