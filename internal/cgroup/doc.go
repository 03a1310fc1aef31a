// Package cgroup bounds what the processes of one plugin use together, by control groups of
// the Linux kernel (cgroups(7)), version 2 or 1. [Find] says what can be bounded here, and changes
// nothing; [Tree.Create] makes a group, in which a process starts by [Group.Enter]. What a process
// starts is in its group.
//
// A group is made below the one that this process is in, and only if that was handed to it:
// by systemd (Delegate=), as a container's own, or on a machine that has no manager of
// groups. A process in a group can leave it if it may write to the files of other groups:
// the caller has to keep /sys/fs/cgroup from it, or root's rights.
//
// On other systems nothing can be bounded, and [Tree.By] says so.
package cgroup
