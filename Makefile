.PHONY: demo test lint
demo test lint:
	./dev $@
