/* Descriptors of a helper process that is forked and not executed. */
#pragma once

/* Closes everything from 3 up but these n. */
void fds_keep_only(const int *keep, int n);
