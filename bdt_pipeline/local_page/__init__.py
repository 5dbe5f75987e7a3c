"""``bdt open``: a page on this machine for people who do not program.

A `visit` holds one table, what is answered about it, and what is being done with it; `child` processes read the table
and audit it, so that they can be stopped; `pages` draws where the visit stands; the `guard` lets only the browser in
that was given the address, and `visitors` gives each person behind a proxy a visit of their own, whose work waits in a
`line`; `serving` ties them to a port and a temporary folder, and takes both away again.
"""
