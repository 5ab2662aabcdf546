# Runs a shepherd as a stock execd does, watches every system call of it and of what it forks up to exec, and spoils
# one of them. What spoils is chosen by process, call and number, which strace cannot: it counts in each process.
#
#   perl faults.pl UID:GID MASK ROLES FAULT LOG RESULT PROGRAM ARGV0
#
# ROLES names the children in the order of their forks. FAULT is `none` or ROLE:CALL#NTH=ACTION; ACTION is the number
# of an errno, `short` (half of the bytes), `kill` (SIGKILL instead of the call), `kill-after`, or `strand`: the shepherd
# dies, and the process makes its call when the guardian is gone. LOG gets a line for
# each call. RESULT gets the native wait status of the shepherd and whether the fault was met. The process then stays
# until its stdin ends: it is the init of its pid namespace, and with it goes everything that is left.
use strict;
use warnings;

my ($ids, $mask, $roles, $fault, $log, $result, $program, $argv0) = @ARGV;
my ($uid, $gid) = map { $_ + 0 } split /:/, $ids;
my @roles = split /,/, $roles;
my ($at_role, $at_call, $at_nth, $action) =
    $fault eq 'none' ? ('', '', 0, '') : $fault =~ /^(\w+):([\w@]+)#(\d+)=([\w-]+)$/ or die "fault $fault\n";

my %NAME = (
    0 => 'read', 1 => 'write', 3 => 'close', 5 => 'fstat', 7 => 'poll', 8 => 'lseek', 13 => 'rt_sigaction',
    14 => 'rt_sigprocmask', 16 => 'ioctl', 17 => 'pread64', 33 => 'dup2', 39 => 'getpid', 56 => 'clone', 57 => 'fork',
    58 => 'vfork', 59 => 'execve', 60 => 'exit', 61 => 'wait4', 62 => 'kill', 72 => 'fcntl', 74 => 'fsync',
    75 => 'fdatasync', 77 => 'ftruncate', 79 => 'getcwd', 80 => 'chdir', 81 => 'fchdir', 82 => 'rename', 83 => 'mkdir',
    84 => 'rmdir', 87 => 'unlink', 89 => 'readlink', 90 => 'chmod', 91 => 'fchmod', 92 => 'chown', 93 => 'fchown',
    95 => 'umask', 102 => 'getuid', 104 => 'getgid', 105 => 'setuid', 106 => 'setgid', 107 => 'geteuid',
    109 => 'setpgid', 112 => 'setsid', 113 => 'setreuid', 114 => 'setregid', 115 => 'getgroups', 116 => 'setgroups',
    117 => 'setresuid', 118 => 'getresuid', 119 => 'setresgid', 120 => 'getresgid', 137 => 'statfs',
    140 => 'getpriority', 141 => 'setpriority', 157 => 'prctl', 160 => 'setrlimit', 203 => 'sched_setaffinity',
    204 => 'sched_getaffinity', 217 => 'getdents64', 231 => 'exit_group', 257 => 'openat', 258 => 'mkdirat',
    260 => 'fchownat', 262 => 'newfstatat', 263 => 'unlinkat', 264 => 'renameat', 267 => 'readlinkat',
    269 => 'faccessat', 271 => 'ppoll', 289 => 'signalfd4', 292 => 'dup3', 293 => 'pipe2', 302 => 'prlimit64',
    316 => 'renameat2', 318 => 'getrandom', 332 => 'statx', 41 => 'socket', 42 => 'connect', 424 => 'pidfd_send_signal',
    434 => 'pidfd_open', 435 => 'clone3', 436 => 'close_range', 437 => 'openat2', 439 => 'faccessat2', 9 => 'mmap',
    10 => 'mprotect', 11 => 'munmap', 12 => 'brk', 186 => 'gettid', 228 => 'clock_gettime', 234 => 'tgkill',
);
# Which argument is a path, and which calls have a descriptor first.
my %PATH = (80 => 0, 82 => 1, 83 => 0, 84 => 0, 87 => 0, 257 => 1, 258 => 1, 262 => 1, 263 => 1, 332 => 1, 437 => 1);
my %FD = map { $_ => 1 } 0, 1, 3, 5, 8, 72, 75, 217, 332;

sub ptrace { return syscall(101, $_[0] + 0, $_[1] + 0, $_[2] + 0, $_[3]) }
sub go { my ($pid, $signal) = @_; our $met; ptrace($met ? 7 : 24, $pid, 0, $signal // 0) }

# A file system that never answers, for this namespace alone: FUSE, and nobody who serves it.
if (my $hung = $ENV{OXHERD_HUNG}) {
    open our $fuse, '+<', '/dev/fuse' or die "/dev/fuse: $!\n";
    my ($type, $fd) = ('fuse', fileno $fuse);
    my $options = "fd=$fd,rootmode=40000,user_id=0,group_id=0,allow_other";
    syscall(165, $type, $hung, $type, 0, $options) == 0 or die "mount on $hung: $!\n";
    delete $ENV{OXHERD_HUNG};
}

our ($met, $held) = (0, 0);
my $guardian = 0;
my $root = fork // die "fork: $!\n";
if ($root == 0) {
    ptrace(0, 0, 0, 0);
    $SIG{$_} = 'DEFAULT' for grep { !/^(KILL|STOP|NUM\d+|ZERO|CLD|IOT|POLL|UNUSED)$/ } keys %SIG;
    my $groups = pack 'L', $gid;
    syscall(116, 1, $groups) == 0 && syscall(119, 0, $gid, $gid) == 0 && syscall(117, 0, $uid, $uid) == 0
        or die "identity: $!\n";
    umask 022;
    my $set = reverse pack "H16", $mask;
    syscall(14, 2, $set, 0, 8);
    open STDIN, '<', '/dev/null';
    exec {$program} $argv0 or die "exec: $!\n";
}

open my $out, '>', $log or die "$log: $!\n";
waitpid $root, 0x40000000;
# fork, vfork, clone, exec, and syscall stops marked as such
ptrace(0x4200, $root, 0, 0x1 | 0x2 | 0x4 | 0x8 | 0x10);
my (%role, %begun, %count, %inject, %hidden) = ($root => 'shepherd');
$begun{$root} = 1;
my $named = 0;
go($root);

sub text {
    my ($pid, $address) = @_;
    open my $memory, '<:raw', "/proc/$pid/mem" or return '?';
    my ($path, $chunk) = ('', '');
    sysseek $memory, $address, 0 or return '?';
    # A string can end right before a page that is not there.
    while (length $path < 4096) {
        my $room = 4096 - ($address + length $path) % 4096;
        sysread $memory, $chunk, $room > 256 ? 256 : $room or last;
        $path .= $chunk;
        return $1 if $path =~ /^([^\0]*)\0/;
    }
    return $path;
}

sub regs { my ($pid) = @_; my $regs = "\0" x 216; ptrace(12, $pid, 0, $regs); return unpack 'q27', $regs }
sub set_regs { my ($pid, @regs) = @_; my $regs = pack 'q27', @regs; ptrace(13, $pid, 0, $regs) }

sub entered {
    my ($pid, $number, @args) = @_;
    my $role = $role{$pid};
    my $name = $NAME{$number} // "call_$number";
    # Everything before is the C library's and Rust's start.
    $named = 1 if $role eq 'shepherd' && $number == 157 && $args[0] == 15;
    return if $role eq 'shepherd' && !$named;
    my $about = '';
    $about = text($pid, $args[$PATH{$number}]) if exists $PATH{$number};
    $about = readlink("/proc/$pid/fd/$args[0]") // '?' if $FD{$number} && $about eq '';
    $about =~ s/[^ -~]/?/g;
    # How many processes the host has is nobody's business here.
    $name .= '@proc' if $about =~ m{^/proc(/\d+/.*)?$} && $about !~ m{/self/};
    my $nth = ++$count{$role}{$name};
    print $out "$role $name $nth $about\n";
    return if $met || $role ne $at_role || $name ne $at_call || $nth != $at_nth;
    $met = 1;
    print $out "FAULT\n";
    if ($action eq 'kill') { kill 'KILL', $pid }
    elsif ($action eq 'strand') { our $held = $pid; kill 'KILL', $root }
    elsif ($action eq 'kill-after') { $inject{$pid} = 'kill' }
    elsif ($action eq 'short') {
        my @regs = regs($pid);
        $regs[12] = int($regs[12] / 2);
        set_regs($pid, @regs);
    } else {
        my @regs = regs($pid);
        $regs[15] = -1;
        set_regs($pid, @regs);
        $inject{$pid} = $action;
    }
}

sub left {
    my ($pid) = @_;
    my $what = delete $inject{$pid} // return;
    return kill 'KILL', $pid if $what eq 'kill';
    my @regs = regs($pid);
    $regs[10] = -$what;
    set_regs($pid, @regs);
}

while ((my $pid = waitpid -1, 0x40000000) > 0) {
    my $status = ${^CHILD_ERROR_NATIVE};
    if (($status & 0xff) != 0x7f) {
        delete $role{$pid};
        next if $pid != $root;
        close $out;
        open my $file, '>', "$result.new" or die "$result: $!\n";
        print $file "$status $met\n";
        close $file;
        rename "$result.new", $result;
        last;
    }
    my ($signal, $event) = (($status >> 8) & 0xff, $status >> 16);
    if ($event >= 1 && $event <= 3) {
        my $message = pack 'Q', 0;
        ptrace(0x4201, $pid, 0, $message);
        my $child = unpack 'Q', $message;
        $role{$child} = $pid == $root ? shift @roles // 'other' : "$role{$pid}_child";
        print $out "# $role{$child}\n" if !$met;
        $guardian = $child if $role{$child} eq 'guardian';
        go($child) if $hidden{$child};
        go($pid);
    } elsif ($event == 4) {
        if ($pid == $root) { go($pid) } else { ptrace(17, $pid, 0, 0) }
    } elsif ($signal == (5 | 0x80)) {
        my $info = "\0" x 88;
        ptrace(0x420e, $pid, 88, $info);
        my ($op) = unpack 'C', $info;
        if ($op == 1) { entered($pid, unpack 'x24Qq6', $info) } elsif ($op == 2) { left($pid) }
        # The call that was spoiled must still be seen to end.
        ptrace(defined $inject{$pid} ? 24 : $met ? 7 : 24, $pid, 0, 0) if $pid != $held;
    } elsif (!$begun{$pid}) {
        $begun{$pid} = 1;
        if (exists $role{$pid}) { go($pid) } else { $hidden{$pid} = 1 }
    } else {
        go($pid, $signal);
    }
}
# Tracees left go on by themselves once they are let go.
for my $pid (keys %role) { kill(0, $pid) && $pid != $held && ptrace(17, $pid, 0, 0) }
my $turns = 0;
# As init of the namespace: reap until we are told to go. Children of ours that still are traced stay traced, so
# every stop of theirs is let go.
my $bits = '';
vec($bits, fileno(STDIN), 1) = 1;
while (1) {
    my $ready = $bits;
    if (select $ready, undef, undef, 0.005) { sysread STDIN, my $byte, 1 or exit 0 }
    # It may also be waiting for the one that is held.
    if ($held && ($guardian == 0 || ++$turns > 30)) { ptrace(17, $held, 0, 0); $held = 0 }
    while ((my $pid = waitpid -1, 0x40000000 | 1) > 0) {
        my $status = ${^CHILD_ERROR_NATIVE};
        if (($status & 0xff) != 0x7f) { $guardian = 0 if $pid == $guardian; next }
        my $signal = ($status >> 8) & 0x7f;
        ptrace(17, $pid, 0, $status >> 16 || $signal == 5 || $signal == 19 ? 0 : $signal);
    }
}
