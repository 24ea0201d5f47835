class Told {
	static int steps;
	int value;
	static int step(int n) {
		steps += n;
		return steps;
	}
	public static void main(String[] words) throws Exception {
		Told[] kept = new Told[50];
		for (int i = 0; i < kept.length; i++) {
			kept[i] = new Told();
			step(i);
		}
		System.gc();
		final Object lock = new Object();
		synchronized (lock) {
			lock.wait(1);
		}
		Thread.sleep(1);
		try {
			throw new IllegalStateException("told");
		} catch (IllegalStateException error) {
			System.out.println("steps " + steps + " " + kept.length);
		}
	}
}
