tell() { printf '%s\t%s\n' "$1" "$2"; }
tell argv0 "$0"
tell argc "$#"
for arg in "$@"; do tell arg "$arg"; done
tr '\0' '\n' <"/proc/$$/cmdline" | while IFS= read -r word; do tell cmdline "$word"; done
tell uid "$(id -u)"
tell gid "$(id -g)"
tell groups "$(id -G)"
tell umask "$(umask)"
tell cwd "$(pwd -P)"
tell nice "$(nice)"
read -r pid comm state ppid pgid sid rest <"/proc/$$/stat"
tell pid "$pid"
tell pgid "$pgid"
tell sid "$sid"
grep -E '^(Uid|Gid|SigBlk|SigIgn|NoNewPrivs|CapInh|CapPrm|CapEff|CapAmb):' /proc/self/status |
    while IFS=':	' read -r name value; do tell "$name" "$value"; done
sed -n 's/^Max \(.*[a-z]\)  *\([0-9u][^ ]*\)  *\([0-9u][^ ]*\).*/\1|\2 \3/p' /proc/self/limits |
    while IFS='|' read -r name value; do tell "limit ${name%%  *}" "$value"; done
# No pipe or substitution here: it would show up as a descriptor.
for fd in "/proc/$$/fd"/*; do
    # The shell's own handle on its script is not inherited.
    case ${fd##*/} in [012]) ;; *) [ "$fd" -ef "$0" ] && continue ;; esac
    [ -L "$fd" ] && printf 'fd\t%s ' "${fd##*/}" && readlink "$fd"
done
while IFS= read -r line; do tell cgroup "$line"; done </proc/self/cgroup
env | grep -E '^[A-Za-z_][A-Za-z_0-9]*=' | while IFS= read -r line; do tell env "$line"; done
