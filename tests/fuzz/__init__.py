"""Generated requests against a whole running system: none may end in an error of ours, hang, or fill the memory."""
