# SPDX-License-Identifier: Apache-2.0
"""compute-sanitizer on traced programs."""
