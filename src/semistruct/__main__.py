from semistruct.cli import main

main()
