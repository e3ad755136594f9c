"""What is believed about certificates, as TLS wants to know it."""

from __future__ import annotations

import os
import ssl
from typing import TypeAlias

#: True: the system's authorities; False: nobody is checked; a path: a file or directory of authorities.
Verify: TypeAlias = bool | str | os.PathLike[str] | ssl.SSLContext


def tls_context(verify: Verify) -> ssl.SSLContext:
    """The context to connect with. Raises OSError if there are no certificates where they should be."""
    if isinstance(verify, ssl.SSLContext):
        return verify
    if isinstance(verify, bool):
        context = ssl.create_default_context()
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
    path = os.fspath(verify)
    if os.path.isdir(path):
        return ssl.create_default_context(capath=path)
    return ssl.create_default_context(cafile=path)
