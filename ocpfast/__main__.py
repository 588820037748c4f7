"""`python -m ocpfast` is the `ocpfast` command."""

from ocpfast.cli import main

raise SystemExit(main())
