/* libsbx: run a command under bubblewrap so that it can damage one project directory.
 *
 * The usual order: fill a struct sbx_policy (policy.h), sbx_host_read() (host.h),
 * sbx_program_find() (program.h), sbx_plan_build() (plan.h), sbx_avail_check() (avail.h), sbx_launch_start() (launch.h).
 * Or sbx_wrap() for the command line alone. This header includes all of them.
 */
#pragma once

#include "agents.h"
#include "argv.h"
#include "avail.h"
#include "cgroup.h"
#include "error.h"
#include "filter.h"
#include "host.h"
#include "judge.h"
#include "launch.h"
#include "limit.h"
#include "path.h"
#include "plan.h"
#include "policy.h"
#include "profiles.h"
#include "program.h"
#include "protect.h"
#include "relay.h"
#include "residue.h"
#include "util.h"

/* "0.1.0", the version of the library at run time. */
SBX_PUBLIC const char *sbx_version(void);
