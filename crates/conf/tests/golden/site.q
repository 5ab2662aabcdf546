qname                 site.q
hostlist              node7
seq_no                0
load_thresholds       np_load_avg=1.75,[@quad=np_load_avg=2.5,mem_free=1G, \
                      swap_used=500M,virtual_used=100G]
suspend_thresholds    NONE
nsuspend              1
suspend_interval      00:05:00
priority              0
min_cpu_interval      00:05:00
processors            UNDEFINED
qtype                 BATCH INTERACTIVE
ckpt_list             NONE
pe_list               NONE,[@dual=smp mpi],[@quad=mpi]
rerun                 FALSE
slots                 0,[@dual=8],[@quad=16],[node7=4]
tmpdir                /tmp/conf-cluster/jobtmp
shell                 /bin/sh
prolog                root@/opt/site/prolog $job_id $host, \
                      [@quad=/opt/site/prolog quad $queue with quite a few \
                      words]
epilog                NONE
shell_start_mode      unix_behavior
starter_method        NONE
suspend_method        NONE
resume_method         NONE
terminate_method      SIGTERM,[@quad=/opt/site/kill -15 $job_pid]
notify                00:00:60
owner_list            alice bob
user_lists            deadlineusers arusers
xuser_lists           NONE
subordinate_list      NONE
complex_values        slots=7,h_vmem=20G,[@quad=NONE]
projects              NONE
xprojects             NONE
calendar              NONE
initial_state         default
s_rt                  INFINITY
h_rt                  24:00:00,[@quad=INFINITY]
s_cpu                 INFINITY
h_cpu                 INFINITY
s_fsize               INFINITY
h_fsize               INFINITY
s_data                INFINITY
h_data                INFINITY
s_stack               INFINITY
h_stack               INFINITY
s_core                INFINITY
h_core                INFINITY
s_rss                 INFINITY
h_rss                 INFINITY
s_vmem                INFINITY
h_vmem                4G,[@dual=8G],[@quad=1024K]
