# SPDX-License-Identifier: Apache-2.0
# The functions in clang's PTX as C initialisers: { "name", "text" },
/^\.visible \.func/ {
	for (i = 1; i <= NF; i++)
		if ($i ~ /^__gt_fn_/) {
			name = $i
			sub(/\(.*/, "", name)
		}
	printf "{ \"%s\",\n", name
	sub(/^\.visible /, "")
	inside = 1
}
inside {
	sub(/[ \t]*\/\/.*/, "")
	if ($0 != "") {
		gsub(/\\/, "\\\\")
		gsub(/"/, "\\\"")
		printf "\"%s\\n\"\n", $0
	}
}
inside && /^}/ {
	print "},"
	inside = 0
}
