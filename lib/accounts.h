/* /etc/passwd and /etc/group as the sandbox sees them: made up, from what is needed. */
#pragma once

#include "host.h"

/* Texts in the format of passwd(5) and group(5). Owned. */
char *sbx_accounts_passwd(const struct sbx_host *h);
char *sbx_accounts_group(const struct sbx_host *h);
