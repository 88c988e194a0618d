/* SPDX-License-Identifier: MIT
 *
 * The child processes of this program, so that it can end them when it is interrupted.
 */
#ifndef SIS_BASE_CHILDREN_H
#define SIS_BASE_CHILDREN_H

#include <sys/types.h>

/* Register a child, usually the leader of a process group. 0 or SIS_E_NOMEM. */
int sis__children_add(pid_t pid);

/* Call before waiting for it. */
void sis__children_remove(pid_t pid);

/* Send SIGTERM to all of them and to their process groups. */
void sis__children_end(void);

#endif
