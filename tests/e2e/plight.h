/* SPDX-License-Identifier: Apache-2.0 */
/* Plights in which a traced process may be; nothing of CUDA. */
#ifndef TESTS_E2E_PLIGHT_H
#define TESTS_E2E_PLIGHT_H

/* A signal every 20 ms. */
void ring_alarm(void);
/* No more than one descriptor to spare. */
void become_poor(void);
void drop_privileges(void);
/* The standard ones from this on; what it prints goes on to where it went. */
void close_streams(int first);
/* None is left of the keys for data of threads. */
void take_keys(void);
/* At the controller's door, with a wrong secret, if there is a door. */
void knock(void);
/* The system call ends the process. */
void forbid(int call);
/* From now on memfd_create() returns a descriptor to read this file by, or -1 without an error. */
void lie(const char *file);

#endif
