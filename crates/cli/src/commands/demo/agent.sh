#!/bin/sh
# Stands for every agent of the demonstration. A real one reads its prompt; this one little more than
# its role.
prompt=$(cat)
answer() { printf '```json\n%s\n```\n' "$1"; }
case "$DRIVE_ROLE" in
namer)
  answer '{"pr_title": "Plan: greet by name", "branch_name": "greet-by-name"}' ;;
planner)
  cat > plan.md << 'PLAN'
# Greet by name

The greeter says the same to everybody. It should greet whoever it is told, and say goodbye as well.

```json tasks
[
  {"id": "greet", "title": "Greet by name", "description": "Take the name from the first argument.",
   "acceptance": [{"id": "named", "kind": "command", "text": "greet.sh Ada greets Ada",
     "command": ["/bin/sh", "greet.sh", "Ada"], "expect": {"exit": 0, "contains": "Hello, Ada!"}}],
   "depends_on": [], "paths": ["greet.sh"]},
  {"id": "farewell", "title": "Say goodbye by name", "description": "A second script, as short as the first.",
   "acceptance": [{"id": "named", "kind": "command", "text": "farewell.sh Ada says goodbye to Ada",
     "command": ["/bin/sh", "farewell.sh", "Ada"], "expect": {"exit": 0, "contains": "Goodbye, Ada!"}}],
   "depends_on": [], "paths": ["farewell.sh"]}
]
```
PLAN
  echo "Two tasks that touch different files." ;;
coder)
  case "$prompt" in
  *"Say goodbye by name"*)
    # The first attempt forgets what test.sh asks for: its reason reaches the second one.
    case "$prompt" in
    *"An earlier attempt"*) mark='!' ;;
    *) mark= ;;
    esac
    printf '#!/bin/sh\necho "Goodbye, ${1:-world}%s"\n' "$mark" > farewell.sh
    echo "farewell.sh says goodbye by name." ;;
  *)
    printf '#!/bin/sh\necho "Hello, ${1:-world}!"\n' > greet.sh
    echo "greet.sh greets by name, and the world without one." ;;
  esac ;;
reviewer)
  if [ "$DRIVE_DOMAIN" = Security ] && [ -e plan.md ] && ! grep -q 'never evaluated' plan.md; then
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
