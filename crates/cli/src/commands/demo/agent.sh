#!/bin/sh
# Stands for every agent of the demonstration. A real one reads its prompt; this one only its role.
cat > /dev/null
answer() { printf '```json\n%s\n```\n' "$1"; }
case "$DRIVE_ROLE" in
namer)
  answer '{"pr_title": "Plan: greet by name", "branch_name": "greet-by-name"}' ;;
planner)
  cat > plan.md << 'PLAN'
# Greet by name

The greeter says the same to everybody. It should greet whoever it is told, and prove it.

```json tasks
[
  {"id": "greet", "title": "Greet by name", "description": "Take the name from the first argument.",
   "acceptance": ["`greet.sh Ada` says Hello, Ada!"], "depends_on": [], "paths": ["greet.sh"]},
  {"id": "docs", "title": "Say so in the README", "description": "One line with an example.",
   "acceptance": ["the README shows it"], "depends_on": ["greet"], "paths": ["README.md"]},
  {"id": "test", "title": "Prove it", "description": "A test script.",
   "acceptance": ["`sh test.sh` passes"], "depends_on": ["greet"], "paths": ["test.sh"]}
]
```
PLAN
  echo "Three tasks; two of them can be done side by side." ;;
reviewer)
  if [ "$DRIVE_DOMAIN" = Security ] && [ "$DRIVE_ROUND" = 1 ]; then
    answer '{"verdict": "needs_changes", "suggestions": [{"file": "plan.md", "line": 3, "severity": "high",
      "issue": "A name is input: say that it is quoted and never evaluated."}]}'
  else
    answer '{"verdict": "approved", "suggestions": []}'
  fi ;;
fixer)
  case "$DRIVE_ROUND" in
  1) printf '\nA name is only ever printed, quoted, and never evaluated.\n' >> plan.md ;;
  *) printf '\nWithout a name it greets the world.\n' >> plan.md ;;
  esac
  ids=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$DRIVE_INPUT")
  list=
  for id in $ids; do
    list="$list${list:+, }{\"id\": \"$id\", \"action\": \"fixed\", \"note\": \"The plan says so now.\"}"
  done
  answer "{\"comments\": [$list]}" ;;
esac
