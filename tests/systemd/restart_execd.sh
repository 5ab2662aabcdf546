#!/bin/bash
# Inside a booted Debian with systemd and cgroup v2: a stock sge_execd is restarted while a job of ours runs.
# /share/oxherd-shepherd is the program; Grid Engine's packages lie in /opt/debs. Prints what it sees; 0 if all is well.
set -u
fail() { echo "FAILED: $*"; systemctl status gridengine-exec --no-pager 2>&1 | tail -15; exit 1; }
wait_for() { # WHAT SECONDS COMMAND…
    local what=$1 limit=$2; shift 2
    local end=$((SECONDS + limit))
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "waited $limit s for: $what"
        sleep 0.2
    done
}

host=$(hostname)
install -m 755 /share/oxherd-shepherd /usr/local/sbin/sge_shepherd_oxherd
export DEBIAN_FRONTEND=noninteractive
debconf-set-selections <<C
gridengine-common shared/gridengineconfig boolean true
gridengine-common shared/gridenginecell string default
gridengine-common shared/gridenginemaster string $host
C
dpkg -i /opt/debs/*.deb >/tmp/dpkg.log 2>&1 || { tail -5 /tmp/dpkg.log; fail "installation"; }
as_admin() { setpriv --reuid sgeadmin --regid sgeadmin --init-groups env HOME=/tmp "$@"; }
wait_for "the qmaster" 60 sh -c "as=1; setpriv --reuid sgeadmin --regid sgeadmin --init-groups qconf -sh >/dev/null 2>&1"
as_admin qconf -as "$host"
edit() { # QCONF-OPTION… : changes the object with the sed script in $SCRIPT
    printf '#!/bin/sh\nsleep 1\nsed -i -e "%s" "$1"\n' "$SCRIPT" >/tmp/editor; chmod 755 /tmp/editor
    as_admin env EDITOR=/tmp/editor qconf "$@"
}
SCRIPT='s/^schedule_interval.*/schedule_interval 0:0:1/; s/^flush_submit_sec.*/flush_submit_sec 1/; s/^flush_finish_sec.*/flush_finish_sec 1/' edit -msconf
SCRIPT='s/^hostlist.*/hostlist HOST/; s/^slots.*/slots 4/; s/^load_thresholds.*/load_thresholds NONE/; s/^pe_list.*/pe_list NONE/' ; SCRIPT=${SCRIPT/HOST/$host}
edit -aq all.q
SCRIPT='s#^shepherd_cmd.*#shepherd_cmd /usr/local/sbin/sge_shepherd_oxherd#; s/^min_uid.*/min_uid 0/; s/^min_gid.*/min_gid 0/' edit -mconf
systemctl restart gridengine-exec
wait_for "the execution host" 60 sh -c "qhost | grep -q '^$host .*M\|^$host .*G'"

cat >/tmp/job.sh <<'J'
echo "$$" >/tmp/job.pid
cat /proc/self/cgroup
setsid sleep 600 &
until [ -e /tmp/job.go ]; do sleep 0.2; done
exit 4
J
rm -f /tmp/job.go
job=$(setpriv --reuid alice --regid alice --init-groups env HOME=/tmp sh -c 'cd /tmp && qsub -terse -S /bin/sh -o /tmp/job.out -j y /tmp/job.sh') || fail "qsub"
wait_for "the job" 60 test -s /tmp/job.pid
pid=$(cat /tmp/job.pid)
group=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
tree=/sys/fs/cgroup; [ -e $tree/cgroup.controllers ] || tree=$tree/unified
echo "job $job is process $pid in $group"
case $group in
    */gridengine-exec.service/oxherd-*/job) ;;
    *) fail "the job is not in a group of its own below the daemon's: $group" ;;
esac
controllers=$(cat "$tree${group%/*/job}/cgroup.subtree_control")
[ -z "$controllers" ] || fail "controllers are enabled below the daemon's service: $controllers"

systemctl restart gridengine-exec || fail "the daemon could not be restarted"
[ "$(systemctl is-active gridengine-exec)" = active ] || fail "the daemon is not active"
kill -0 "$pid" || fail "the job did not survive the restart"
wait_for "the job to be known again" 60 sh -c "qstat -u '*' | grep -q ' r '"
echo "the job survived the restart and is known"

touch /tmp/job.go
wait_for "the job's record" 120 sh -c "qacct -j $job >/tmp/record 2>/dev/null"
failed=$(awk '$1 == "failed" {print $2}' /tmp/record); status=$(awk '$1 == "exit_status" {print $2}' /tmp/record)
echo "failed $failed exit_status $status"
[ "$failed $status" = "0 4" ] || fail "the record is not that of the job"
pgrep -x sleep -u alice >/dev/null && fail "a process of the job is left"
[ ! -e "$tree${group%/job}" ] || fail "the job's cgroup is left"
echo "nothing is left"
