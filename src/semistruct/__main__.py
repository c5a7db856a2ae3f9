from semistruct.app.cli import main

main()
