#!/bin/sh
# What a job sees: oxherd run --queue examples/all.q.conf examples/hello.sh
#$ -N hello
#$ -l h_cpu=0:5:0

echo "Hello from job $JOB_ID ($JOB_NAME) in $QUEUE on $HOSTNAME, $NSLOTS slot(s)"

echo
echo "-- the account"
id
echo "umask   $(umask)"
echo "nice    $(nice)"
echo "cwd     $(pwd)"
echo "shell   $SHELL, called $0"

echo
echo "-- a directory of the job's own, gone when the job is"
echo "TMPDIR  $TMPDIR"
ls -ld "$TMPDIR"

echo
echo "-- limits"
ulimit -a

echo
echo "-- variables"
env | grep -E '^(SGE_|JOB_|QUEUE=|NSLOTS=|NHOSTS=|NQUEUES=|TMP=|TMPDIR=|PE|RESTARTED=|ARC=|ENVIRONMENT=|REQUEST=|REQNAME=|HOME=|USER=|LOGNAME=|SHELL=|PATH=)' | sort
