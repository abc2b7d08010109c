package control_test

const rewriterEnv = "X"

func rewrite(string) {}
